"""Run `prune` as `python -m prune_assets.cli`."""

from prune_assets.cli import main

if __name__ == "__main__":
    main()
