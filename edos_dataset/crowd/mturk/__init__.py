"""Batches on Amazon Mechanical Turk: HITs created, looked at, fetched and rewarded, none of it twice."""
