"""From many elements to few: sums, statistics, extrema, scans, histograms."""
