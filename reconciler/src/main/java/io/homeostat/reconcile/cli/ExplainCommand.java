package io.homeostat.reconcile.cli;

import io.homeostat.desired.yaml.Explain;

/** Explains fields of documents. */
final class ExplainCommand implements Command {
    private final String path;
    private final Console console;

    /** @param path empty: what can be asked for */
    ExplainCommand(String path, Console console) {
        this.path = path;
        this.console = console;
    }

    @Override
    public int run() {
        if (path.isEmpty()) {
            console.out().println(String.join("\n", Explain.tops()));
            return ExitStatus.OK;
        }
        try {
            console.out().println(Explain.text(path).stripTrailing());
            return ExitStatus.OK;
        } catch (IllegalArgumentException e) {
            throw new CommandFailure(String.valueOf(e.getMessage()), e);
        }
    }
}
