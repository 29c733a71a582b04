"""`ringsched profile`: describe a real PyTorch job by running it, or by what NCCL recorded of it."""
