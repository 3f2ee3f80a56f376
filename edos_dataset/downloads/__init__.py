"""`edos download`: public sources, fetched whole or not at all."""
