"""The main job: two small optimisations on real data, and a report of what came out."""
