"""Who speaks on, and who begins: scorers of the borders between sentences, and the stage that decides by them."""
