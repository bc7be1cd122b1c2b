# SPDX-FileCopyrightText: 2026 The Trainyard authors
# SPDX-License-Identifier: Apache-2.0
#
# Trains what tst_against_torch.cpp trained, from the same weights on the same batches, in fp64.
# Reads the JSON file named on the command line and prints the loss of each step, one a line.
# "no torch" and exit code 77: there is no PyTorch.
import json
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    print("no torch")
    sys.exit(77)


def conv_norm(p, name, number, x, stride, padding):
    y = F.conv2d(x, p[f"{name}.conv{number}.weight"], None, stride, padding)
    return norm(p, f"{name}.norm{number}", y)


def norm(p, name, x):
    return F.batch_norm(x, p[f"{name}.running_mean"], p[f"{name}.running_var"],
                        p[f"{name}.weight"], p[f"{name}.bias"], True, 0.1, 1e-5)


def linear(p, name, x, weight=None):
    return F.linear(x, p[weight or f"{name}.weight"], p.get(f"{name}.bias"))


def residual(p, name, x, stride):
    y = F.relu(conv_norm(p, name, "1", x, stride, 1))
    y = conv_norm(p, name, "2", y, 1, 1)
    if f"{name}.conv_shortcut.weight" in p:
        x = conv_norm(p, name, "_shortcut", x, stride, 0)
    return F.relu(y + x)


def layer_norm(p, name, x):
    return F.layer_norm(x, x.shape[-1:], p[f"{name}.weight"], p[f"{name}.bias"], 1e-5)


def transformer(p, name, x, heads):
    rows, positions, width = x.shape
    qkv = linear(p, f"{name}.attention.qkv", layer_norm(p, f"{name}.norm1", x))
    q, k, v = (t.view(rows, positions, heads, -1).transpose(1, 2) for t in qkv.split(width, 2))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    y = y.transpose(1, 2).reshape(rows, positions, width)
    x = x + linear(p, f"{name}.attention.out", y)
    y = F.gelu(linear(p, f"{name}.expand", layer_norm(p, f"{name}.norm2", x)))
    return x + linear(p, f"{name}.contract", y)


def mlp(p, x):
    x = torch.tanh(linear(p, "fc1", x))
    return linear(p, "fc2", F.silu(x))


def cnn(p, x):
    x = F.relu(norm(p, "norm", F.conv2d(x, p["conv.weight"], p["conv.bias"], 1, 1)))
    x = residual(p, "block1", x, 1)
    x = residual(p, "block2", x, 2)
    return linear(p, "classes", x.mean((2, 3)))


def gpt(p, x):
    x = F.embedding(x, p["tokens.weight"]) + p["positions.weight"]
    x = transformer(p, "block1", x, 2)
    x = transformer(p, "block2", x, 2)
    return linear(p, "head", layer_norm(p, "norm", x), "tokens.weight")


def optimizer(kind, trained, decays):
    groups = [{"params": [t for n, t in trained.items() if decays[n]], "weight_decay": 0.01},
              {"params": [t for n, t in trained.items() if not decays[n]], "weight_decay": 0.0}]
    if kind == "adamw":
        return torch.optim.AdamW(groups, lr=0.01)
    return torch.optim.SGD(groups, lr=0.05, momentum=0.9)


def main():
    torch.set_default_dtype(torch.float64)
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    p, trained, decays = {}, {}, {}
    for entry in job["parameters"]:
        tensor = torch.tensor(entry["values"]).reshape(entry["shape"])
        p[entry["name"]] = tensor
        if entry["trained"]:
            trained[entry["name"]] = tensor.requires_grad_()
            decays[entry["name"]] = entry["decays"]
    model = {"mlp": mlp, "cnn": cnn, "gpt": gpt}[job["model"]]
    step = optimizer(job["optimizer"], trained, decays)
    inputs = torch.tensor(job["inputs"]).reshape(job["steps"], -1, *job["input_shape"])
    labels = torch.tensor(job["labels"]).reshape(job["steps"], inputs.shape[1], -1)
    for x, y in zip(inputs, labels):
        step.zero_grad()
        loss = F.cross_entropy(model(p, x).flatten(0, -2), y.flatten())
        loss.backward()
        step.step()
        print(repr(loss.item()))


main()
