"""Which levels of metadata are asked, in which order, and what their answers add up to."""
