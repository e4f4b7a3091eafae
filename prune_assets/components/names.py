"""Names of jobs, schedules and sensors.

A default name is prefixed by the component's path if several components would share it.
"""

import re

import dagster as dg


class Named:
    """A component whose jobs, schedules and sensors have names with a common prefix."""

    def names(self) -> tuple[str | None, str]:
        """Return the name set in the component's YAML (None if not set), and the default name."""
        raise NotImplementedError

    def name_in(self, context: dg.ComponentLoadContext) -> str:
        """Return the prefix of the names.

        Without a name in its YAML, the prefix is the default, or the component's path and the default if another
        component of the project has the same default. Version 0.2 always used the default, so running schedules keep
        their names.
        """
        given, default = self.names()
        if given is not None:
            return given
        of_all = [name or its_default for name, its_default in (each.names() for each in _all_of(context))]
        return "_".join([*(_path_parts(context) if of_all.count(default) > 1 else []), default])


def _all_of(context: dg.ComponentLoadContext) -> list[Named]:
    """Return the components of the project.

    The list is empty if a component is loaded without a project, as in tests.
    """
    return context.component_tree.get_all_components(of_type=Named) if _path_parts(context) else []  # type: ignore[type-var]


def _path_parts(context: dg.ComponentLoadContext) -> list[str]:
    """Return the parts of the component's path below `defs`.

    If a file contains several YAML documents, the number of the document is included.
    """
    file = getattr(context.component_loc, "file_path", None)
    if file is None:
        return []  # the component is defined in the UI
    number = context.component_path.instance_key
    below = file.relative_to(context.defs_module_path).parts
    return [
        re.sub(r"\W", "_", part) for part in (*below, *([str(number)] if number or (number == 0 and not below) else []))
    ]
