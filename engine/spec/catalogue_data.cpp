// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// Catalogue entries of data formats (with the files each part of the data has) and of augmentation.
#include "engine/spec/catalogue_fields.h"

namespace trainyard::spec {

namespace {

FieldInfo contextField() {
    return integer("context", "Window", 256, 1, kMaxExtent,
                   "Tokens of a sample. Each position predicts the next token.");
}

FieldInfo encodingField() {
    return choice("encoding", "Encoding",
                  {"auto", "UTF-8", "UTF-16LE", "UTF-16BE", "WINDOWS-1251", "WINDOWS-1252",
                   "KOI8-R", "GB18030", "SHIFT_JIS", "BIG5"},
                  "auto: by the mark at the begin of the file, else UTF-8.");
}

TypeInfo idxEntry() {
    return {.kind = Kind::DataFormat,
            .type = "idx",
            .label = "IDX",
            .help = "IDX files, plain or gzip: pictures and their labels.",
            .fields = {},
            .roles = {{"images", "Images"}, {"labels", "Labels"}},
            .pictures = true};
}

TypeInfo cifarEntry() {
    return {.kind = Kind::DataFormat,
            .type = "cifar",
            .label = "CIFAR-10 binary",
            .help = "Pictures of 32 by 32 pixels in ten classes. A folder with data_batch*.bin for "
                    "training and test_batch*.bin for validation, or one such file.",
            .fields = {},
            .roles = {{.name = "pictures", .label = "Folder or file", .folder = true}},
            .pictures = true};
}

TypeInfo imageFolderEntry() {
    return {.kind = Kind::DataFormat,
            .type = "image_folder",
            .label = "Folder of pictures",
            .help = "A folder with a folder of JPEG and PNG files for each class.",
            .fields = {pair("size", "Size", 64, 1, "Height and width that pictures are scaled to."),
                       integer("channels", "Channels", 3, 1, 3, "3: colours; 1: brightness.")},
            .roles = {{.name = "folder", .label = "Folder", .folder = true}},
            .pictures = true};
}

TypeInfo npyEntry() {
    return {
        .kind = Kind::DataFormat,
        .type = "npy",
        .label = "NumPy arrays",
        .help = "Arrays in .npy or .npz files; the first dimension counts the samples.",
        .fields = {choice("task", "Task", {"auto", "classification", "regression"},
                          "auto: whole numbers are classes."),
                   choice("samples", "Samples", {"auto", "pictures", "arrays"},
                          "auto: bytes of two dimensions are gray pictures, and channels that "
                          "stand last are moved to the front."),
                   text("inputs_key", "Inputs in .npz", "", "Empty: x, images, data ..."),
                   text("labels_key", "Labels in .npz", "", "Empty: y, labels, targets ...")},
        .roles = {{"inputs", "Inputs"},
                  {.name = "labels", .label = "Labels, if not in the same .npz", .optional = true}},
        .pictures = true};
}

TypeInfo textEntry() {
    return {.kind = Kind::DataFormat,
            .type = "text",
            .label = "Text",
            .help = "A text, of which the model learns to predict the next token. A share for "
                    "validation is taken from its end.",
            .fields = {contextField(),
                       choice("vocabulary", "Tokens", {"characters", "bytes", "bpe"},
                              "bpe: bytes and sequences of bytes that occur often, learned from "
                              "the training text."),
                       integer("vocabulary_size", "Vocabulary", 1024, 257, 65536,
                               "Most tokens that bpe may have."),
                       encodingField()},
            .roles = {{"text", "Text"}}};
}

TypeInfo csvEntry() {
    return {
        .kind = Kind::DataFormat,
        .type = "csv",
        .label = "Table (CSV)",
        .help = "A table, one column of which is to be predicted from the others.",
        .fields = {text("target", "Target", "",
                        "Name or number of the column to predict; empty: the last."),
                   choice("task", "Task", {"auto", "classification", "regression"},
                          "auto: texts and up to 20 whole numbers are classes."),
                   text("ignore", "Leave out", "",
                        "Names or numbers of columns that are not used, with commas between."),
                   choice("missing", "Missing values", {"fill", "drop"},
                          "fill: with the mean of the training rows; drop: leave the rows out."),
                   choice("non_finite", "Infinite values", {"refuse", "missing"},
                          "missing: take them as missing."),
                   choice("delimiter", "Delimiter",
                          {"auto", "comma", "semicolon", "tab", "pipe", "space"}),
                   choice("header", "Header", {"auto", "yes", "no"}),
                   choice("decimal", "Decimal mark", {"auto", "point", "comma"}), encodingField(),
                   integer("skip_lines", "Lines to skip", 0, 0, 1 << 20,
                           "Lines in front of the header or the first row.")},
        .roles = {{"table", "Table"}}};
}

TypeInfo tokensEntry() {
    return {.kind = Kind::DataFormat,
            .type = "tokens",
            .label = "Token file",
            .help = "A text that was turned into numbers before, without a header.",
            .fields = {contextField(),
                       choice("type", "Number type", {"uint16", "uint32"},
                              "Two or four bytes for each token, little-endian."),
                       integer("vocabulary_size", "Vocabulary", 0, 0, 1 << 24,
                               "0: the largest token of the file and one more.")},
            .roles = {{"tokens", "Tokens"}}};
}

} // namespace

std::vector<TypeInfo> dataFormatEntries() {
    return {idxEntry(), cifarEntry(), imageFolderEntry(), csvEntry(),
            npyEntry(), textEntry(),  tokensEntry()};
}

std::vector<TypeInfo> augmentationEntries() {
    return {{.kind = Kind::Augmentation,
             .type = kPictureAugmentation,
             .label = "Pictures",
             .help = "Changes training pictures a little, in another way each epoch.",
             .fields = {toggle("flip", "Mirror", false, "Left and right, each second time."),
                        integer("crop_padding", "Shift", 0, 0, 1024,
                                "Moves the picture by up to so many pixels in each direction."),
                        real("rotate", "Turn", 0, 0, 180, "Up to so many degrees to either side."),
                        integer("cutout", "Cover", 0, 0, 1024,
                                "Side of a square that is covered, in pixels.")}}};
}

} // namespace trainyard::spec
