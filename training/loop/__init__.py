"""What every training of weights needs: processes, rates, checkpoints, log."""
