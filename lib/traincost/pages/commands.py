"""Commands that take the parameters of a notebook of ours, and list them in their help."""

import click


class NotebookCommand(click.Command):
    """A command that takes the parameters of a notebook of ours, and lists them in its help."""

    def __init__(self, *args, kind, file_names=("-f", "--parameters"), groups=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.kind, self.groups = kind, groups
        self.params += [
            click.Option([*file_names, "parameters"], type=click.Path(), help="YAML file of parameters."),
            click.Option(
                ["-p", "--parameter"],
                nargs=2,
                multiple=True,
                metavar="NAME VALUE",
                help="One parameter; may be repeated.",
            ),
        ]

    def declared(self):
        from traincost.pages import parameters

        found = parameters.declared(parameters.read_notebook(parameters.notebook_path(self.kind)))
        return [parameter for parameter in found if self.groups is None or parameter.group in self.groups]

    def invoke(self, ctx):
        """Give the command one dict of parameters, in place of a file and single ones."""
        file, single = ctx.params.pop("parameters"), ctx.params.pop("parameter")
        ctx.params["parameters"] = given(self.declared(), file, single)
        return super().invoke(ctx)

    def format_epilog(self, ctx, formatter):
        """Write the parameters, by their groups."""
        arguments = {parameter.name for parameter in self.params}
        declared = [parameter for parameter in self.declared() if parameter.name not in arguments]
        formatter.write_paragraph()
        formatter.write_text("Parameters, for -p and the file of -f:")
        for group in dict.fromkeys(parameter.group for parameter in declared):
            with formatter.section(group):
                formatter.write_dl([(p.name, _described(p)) for p in declared if p.group == group])


def _described(parameter):
    default = parameter.default
    if default in (None, "", [], {}):
        return parameter.help
    shown = ", ".join(map(str, default)) if isinstance(default, list) else default
    return f"{parameter.help}  [default: {shown}]"


def given(declared, file, single):
    """Return the parameters given in a file and one by one."""
    from traincost.pages import parameters

    values = parameters.beside(parameters.read_parameters(file), file, declared) if file else {}
    return values | {name: parameters.typed(name, text, declared) for name, text in single}
