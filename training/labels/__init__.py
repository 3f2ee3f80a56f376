"""The encoder that gives every label: sources of many makers, partial labels, training, context, calibration."""
