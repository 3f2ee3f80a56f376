"""The encoder for all labels: sources with different conventions, partial labels, training, context, calibration."""
