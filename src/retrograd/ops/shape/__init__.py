"""Views and copies in another shape, order or place; joining and cutting."""
