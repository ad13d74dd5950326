"""`make demo`: the product's main job on one worked example, offline."""
