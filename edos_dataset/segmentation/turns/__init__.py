"""Turn segmentation: scorers of the boundaries between sentences, and the stage that decides by their scores."""
