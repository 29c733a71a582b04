"""Plans as pictures: computed here, drawn in a browser by `assets/` and on paper by `pictures/`."""
