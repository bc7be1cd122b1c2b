# SPDX-FileCopyrightText: 2026 The Trainyard authors
# SPDX-License-Identifier: Apache-2.0
#
# The peer of `trainyard-bench parallel`: one of two ranks of PyTorch's DistributedDataParallel with
# Gloo, one thread each, on the models of torch_peer.py. Arguments: rank, world size, port. Reads
# lines "CASE STEPS ROWS" and answers each with the seconds of so many steps on so many rows a rank.
# Ends with its standard input.
import os
import sys
import time

import torch
import torch.distributed as dist

import torch_peer


def main():
    rank, world, port = sys.argv[1:4]
    os.environ.update(RANK=rank, WORLD_SIZE=world, MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                      GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    print("torch", torch.__version__, "DDP", flush=True)  # both are waited for before they meet
    dist.init_process_group("gloo")
    steps = {}
    for line in sys.stdin:
        case, count, rows = line.split()
        if (case, rows) not in steps:
            steps.clear()
            step = torch_peer.Step(case, torch_peer.variants(case)[-1])
            step.x, step.y = step.x[:int(rows)], step.y[:int(rows)]
            if step.x.dim() == 4:
                step.x = step.x.contiguous(memory_format=torch.channels_last)
            step.model = torch.nn.parallel.DistributedDataParallel(step.model)
            steps[case, rows] = step
        step = steps[case, rows]
        step()
        dist.barrier()
        start = time.perf_counter()
        for _ in range(int(count)):
            step()
        print(time.perf_counter() - start, flush=True)


main()
