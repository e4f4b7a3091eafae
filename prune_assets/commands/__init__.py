"""The commands of `prune`: one a file, named like its function; `prune_assets/cli.py` lists them."""
