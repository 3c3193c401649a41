package io.homeostat.reconcile.command;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.HotSpotDiagnosticMXBean.ThreadDumpFormat;
import io.homeostat.proto.agent.CommandRequest;
import io.homeostat.proto.agent.InspectRequest;
import io.homeostat.reconcile.command.environment.CommandFailure;
import io.homeostat.reconcile.command.environment.ExitStatus;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

/** Shows what each thread of the agent that it runs in is doing, virtual ones included: passes are named as their workloads. */
public record InspectCommand() implements Command {
    @Override
    public void write(CommandRequest.Builder request) {
        request.setInspect(InspectRequest.getDefaultInstance());
    }

    @Override
    public int run(Workspace workspace) {
        if (workspace.enforcer().agent().isEmpty()) {
            throw new CommandFailure("the threads of an agent are only known to itself; kill -QUIT, and it writes them"
                    + " to its standard output");
        }
        try {
            workspace.console().out().print(threads(workspace.layout().runDir()));
        } catch (IOException e) {
            throw new CommandFailure("the threads could not be written to a file: " + CommandFailure.reason(e), e);
        }
        return ExitStatus.OK;
    }

    /** @param directory for a file in between, because the JVM writes to nothing else; it is gone afterwards */
    private static String threads(Path directory) throws IOException {
        Path between = Files.createTempDirectory(
                directory, ".dump", PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Path file = between.resolve("threads");
        try {
            ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
                    .dumpThreads(file.toAbsolutePath().toString(), ThreadDumpFormat.TEXT_PLAIN);
            return Files.readString(file);
        } finally {
            Files.deleteIfExists(file);
            Files.deleteIfExists(between);
        }
    }
}
