"""Everything that can label turns."""
