package io.homeostat.reconcile.command.diagnostics;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.AgentConfig.Log.Target;
import io.homeostat.observe.process.Executables;
import io.homeostat.observe.process.UserSwitch;
import io.homeostat.reconcile.command.diagnostics.Doctor.Finding;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Whether those can be told who are told of something by the configuration. Tells nobody. */
public final class ReceiverChecks {
    private ReceiverChecks() {}

    /**
     * Looks at the programs of {@code notify} and, where it is used, at the journal; web servers are not asked.
     *
     * @param journal its socket
     */
    public static ImmutableList<Finding> look(AgentConfig config, Path journal) {
        ImmutableList.Builder<Finding> findings = ImmutableList.builder();
        for (int i = 0; i < config.hooks().size(); i++) {
            ImmutableList<String> exec = config.hooks().get(i).exec();
            if (!exec.isEmpty()) {
                findings.add(program("notify[" + i + "]", exec.getFirst()));
            }
        }
        if (config.log().target() == Target.JOURNAL) {
            findings.add(journal(journal));
        }
        return findings.build();
    }

    private static Finding program(String hook, String program) {
        Optional<Path> file = Executables.find(program);
        if (file.isEmpty()) {
            return Finding.fail(
                    "notify",
                    hook + ": " + program + " is not there, or this user may not execute it",
                    "install it, or correct exec in agent.yaml");
        }
        return UserSwitch.problem(file.get())
                .map(why -> Finding.fail("notify", hook + ": " + why))
                .orElse(Finding.ok("notify", hook + ": " + program + " can be executed"));
    }

    private static Finding journal(Path socket) {
        return Files.isWritable(socket)
                ? Finding.ok("journal", socket + " is there, and this user may write to it")
                : Finding.warn(
                        "journal",
                        socket + " is not there, or this user may not write to it; what workloads write is in their"
                                + " logs only",
                        "start systemd-journald, or leave log.target out of agent.yaml");
    }
}
