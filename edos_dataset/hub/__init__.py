"""Publishing to the Hub: the contents, the version, and the upload."""
