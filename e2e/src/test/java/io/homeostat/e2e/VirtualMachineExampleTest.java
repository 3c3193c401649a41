package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.guest.FakeMachine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What docs/virtual-machines.md declares, word for word but for two paths: the monitor is ours, and so is its socket. */
@Tag("nightly")
final class VirtualMachineExampleTest {
    private static final String MONITOR = "/usr/bin/cloud-hypervisor";
    private static final String SOCKET = "/run/vm.sock";

    /** For its directory with a short path; the guest that boots in it is not used. */
    @RegisterExtension
    @Order(1)
    final Guest other = new Guest();

    @RegisterExtension
    @Order(2)
    final Homeostat homeostat = new Homeostat();

    @Test
    void theExampleRunsAndAMachineThatDiesComesBackWithAllThatRanInIt() throws IOException {
        Files.move(homeostat.file(".new", example()), homeostat.desired().resolve("vm.yaml"));
        homeostat.agent();

        homeostat.awaitRunning("container/clock");
        eventually().until(() -> homeostat.run("status").exit() == 0);
        assertEquals(
                "EXECUTION_COMPLETED",
                homeostat.status("container/greeting").get("state").asText());
        homeostat.run("logs", "container/greeting").exits(0).says("hello");
        eventually()
                .until(() ->
                        homeostat.run("logs", "container/clock").out().lines().count() > 1);
        homeostat.run("plan", "--detailed-exitcode").exits(0);

        long before = homeostat.process("process/guest-vm");
        Processes.kill(before);

        homeostat.awaitAnother("process/guest-vm", before);
        eventually()
                .until(() -> homeostat.status("container/clock").get("restarts").asInt() > 0
                        && homeostat.run("status").exit() == 0);
        homeostat.withdraw("vm.yaml");
        eventually()
                .until(() -> homeostat.everyProcess().stream()
                        .noneMatch(process -> process.workload().equals("process/guest-vm")));
    }

    private String example() throws IOException {
        String yaml = DocPage.named("docs/virtual-machines.md").fileShown("vm.yaml");
        assertTrue(yaml.contains(MONITOR) && yaml.contains(SOCKET), yaml);
        return yaml.replace(MONITOR, monitor().toString())
                .replace(SOCKET, other.root().resolve("vm.sock").toString());
    }

    private Path monitor() throws IOException {
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        String script = "#!/bin/sh\nexec %s -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '%s' %s \"$@\"\n"
                .formatted(java, System.getProperty("java.class.path"), FakeMachine.class.getName());
        Path monitor = Files.writeString(other.root().resolve("monitor"), script);
        return Files.setPosixFilePermissions(monitor, PosixFilePermissions.fromString("rwx------"));
    }
}
