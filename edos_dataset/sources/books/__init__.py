"""Books: Project Gutenberg's texts, TEI, HTML and EPUB, read as blocks, each of one kind."""
