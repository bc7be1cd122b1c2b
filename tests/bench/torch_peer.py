# SPDX-FileCopyrightText: 2026 The Trainyard authors
# SPDX-License-Identifier: Apache-2.0
#
# The peer of `trainyard-bench train_step`: the same models in PyTorch. Reads lines "CASE THREADS
# VARIANT SECONDS" and answers each with samples per second; "variants CASE" lists what is worth
# trying, the best of which counts. Ends with its standard input.
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x), inplace=True)


class Transformer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.expand = nn.Linear(width, 4 * width)
        self.contract = nn.Linear(4 * width, width)

    def forward(self, x):
        rows, positions, width = x.shape
        q, k, v = (t.view(rows, positions, self.heads, -1).transpose(1, 2)
                   for t in self.qkv(self.norm1(x)).split(width, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(rows, positions, width))
        return x + self.contract(F.gelu(self.expand(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, vocabulary=256, width=256, positions=256, blocks=4, heads=4):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Parameter(torch.randn(positions, width) * 0.02)
        self.blocks = nn.Sequential(*[Transformer(width, heads) for _ in range(blocks)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, indices):
        return self.head(self.norm(self.blocks(self.tokens(indices) + self.positions)))


def resnet18():
    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    inputs = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Residual(inputs, outputs, stride), Residual(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                         nn.Linear(512, 10))


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)


def adamw(model):
    return torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)


# Case: rows, model, optimizer, input, classes.
CASES = {
    "mlp": (128, mlp, sgd, lambda n: torch.randn(n, 784), (10, ())),
    "resnet18_b32": (32, resnet18, sgd, lambda n: torch.randn(n, 3, 32, 32), (10, ())),
    "resnet18_b128": (128, resnet18, sgd, lambda n: torch.randn(n, 3, 32, 32), (10, ())),
    "gpt": (8, Gpt, adamw, lambda n: torch.randint(256, (n, 256)), (256, (256,))),
}


BF16 = "_bf16"  # such a case runs under autocast


def variants(case):
    return ["plain", "channels_last"] if case.startswith("resnet") else ["plain"]


class Step:
    def __init__(self, case, variant):
        torch.manual_seed(0)
        self.half = case.endswith(BF16)
        self.rows, model, optimizer, inputs, (classes, shape) = CASES[case.removesuffix(BF16)]
        self.model = model()
        self.x = inputs(self.rows)
        self.y = torch.randint(classes, (self.rows, *shape))
        if variant == "channels_last":
            self.model = self.model.to(memory_format=torch.channels_last)
            self.x = self.x.contiguous(memory_format=torch.channels_last)
        self.optimizer = optimizer(self.model)

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.half):
            scores = self.model(self.x)
            loss = F.cross_entropy(scores.flatten(0, -2), self.y.flatten())
        loss.backward()
        self.optimizer.step()


def main():
    steps = {}
    print("torch", torch.__version__, flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "variants":
            print(*variants(words[1]), flush=True)
            continue
        case, threads, variant, seconds = words[0], int(words[1]), words[2], float(words[3])
        torch.set_num_threads(threads)
        if (case, variant) not in steps:
            steps.clear()
            steps[case, variant] = Step(case, variant)
        step = steps[case, variant]
        step()
        start = time.perf_counter()
        done = 0
        while done == 0 or time.perf_counter() - start < seconds:
            step()
            done += 1
        print(step.rows * done / (time.perf_counter() - start), flush=True)


if __name__ == "__main__":
    main()
