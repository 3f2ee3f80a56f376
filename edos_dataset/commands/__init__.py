"""The verbs of the package, one public function each, which the command line calls too. Start with `curate`."""
