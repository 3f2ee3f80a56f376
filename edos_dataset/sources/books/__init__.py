"""Books: Project Gutenberg's texts, TEI, HTML and EPUB read as blocks of one kind each."""
