package io.homeostat.reconcile.cli;

import com.google.common.base.Suppliers;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.yaml.AgentConfigReader;
import io.homeostat.reconcile.command.DirectEnforcer;
import io.homeostat.reconcile.command.DocumentTexts;
import io.homeostat.reconcile.command.ExecCommand;
import io.homeostat.reconcile.command.HoldCommand;
import io.homeostat.reconcile.command.Workspace;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ConfigFile;
import io.homeostat.reconcile.command.environment.Environment;
import io.homeostat.reconcile.command.environment.ExitStatus;
import io.homeostat.reconcile.command.environment.InvalidConfig;
import io.homeostat.reconcile.command.environment.UsageException;
import io.homeostat.reconcile.command.environment.UserDirectories;
import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Text;

/** A command that was typed, with what it needs to run. */
record Invocation(String word, Environment environment, Console console, Arguments arguments) {
    /** The agent's configuration file: that which was named, else the usual one. */
    ConfigFile configFile() {
        UserDirectories directories = new UserDirectories(environment);
        return arguments
                .config()
                .map(path -> new ConfigFile(directories.absolute(Syntax.CONFIG, path), true, environment.isRoot()))
                .orElseGet(directories::configFile);
    }

    Workspace workspace() {
        UserDirectories directories = new UserDirectories(environment);
        ConfigFile file = configFile();
        if (!file.exists()) {
            // Defaults take 25 ms to be found out, and whoever asks an agent needs none of them.
            return workspace(directories.layout(arguments.global()), new DirectEnforcer(Suppliers.memoize(file::read)));
        }
        AgentConfigReader.Result read = file.look();
        AgentConfig config = read.config();
        if (config != null) {
            return workspace(directories.layout(arguments.global(), config), new DirectEnforcer(() -> config));
        }
        InvalidConfig invalid = new InvalidConfig(file, read);
        Layout layout = invalid.layout(directories, arguments.global());
        console.say(invalid.warning(layout));
        return workspace(layout, DirectEnforcer.endingOnly(invalid.failure()));
    }

    /** Where to look whatever is wrong with the configuration, for whoever tells what: in the end where it would be without one. */
    Layout layout(ConfigFile file) {
        UserDirectories directories = new UserDirectories(environment);
        try {
            return directories.layout(arguments.global(), file, file.look());
        } catch (CommandFailure e) {
            // What is wrong with the file is among what is told.
            return directories.layout(arguments.global());
        }
    }

    private Workspace workspace(Layout layout, DirectEnforcer enforcer) {
        return new Workspace(word, environment, console, layout, enforcer);
    }

    /**
     * The documents of {@code -f}, all of which could be read.
     *
     * @param consequence of errors, see {@link DocumentTexts#parse}
     */
    DocumentTexts documents(String consequence) {
        DocumentTexts texts = paths().texts(arguments.flag(Syntax.PRUNE), arguments.flag(Syntax.ALLOW_EMPTY));
        if (!texts.read().errors().isEmpty()) {
            // What is wrong is told in one go, with what else is wrong in those that could be read.
            texts.parse(environment.documents(), console, consequence, Workspace.Known.NOTHING);
        }
        return texts;
    }

    DocumentPaths paths() {
        return new DocumentPaths(environment, arguments.files());
    }

    /** What holds workloads or lets them go, as typed. */
    HoldCommand hold(HoldCommand.Hold action) {
        return new HoldCommand(action, arguments.selection(), arguments.reason(), arguments.timeout());
    }

    /**
     * A command to run in a workload, as typed.
     *
     * @throws UsageException when it asks for a terminal, and there is none
     */
    ExecCommand exec() {
        boolean terminal = arguments.flag(Syntax.TERMINAL);
        if (terminal && !environment.terminal().isInput()) {
            throw new UsageException("-t needs a terminal as standard input, and that is none; leave out -t");
        }
        if (arguments.words().size() > 1) {
            throw new UsageException("'" + Text.oneLine(arguments.words().get(1))
                    + "' is neither option nor workload; the command comes after --, such as: homeostat exec "
                    + arguments.workload() + " -- ls -l");
        }
        return new ExecCommand(arguments.workload(), arguments.program(), arguments.flag(Syntax.INTERACTIVE), terminal);
    }

    /** Prints a text that ends in no empty line. */
    int print(String text) {
        console.out().println(text.stripTrailing());
        return ExitStatus.OK;
    }
}
