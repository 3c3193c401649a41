package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What the quickstart promises, in a copy of the checkout, so that nobody's state is touched. */
final class QuickstartTest {
    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @Tag("nightly")
    @Test
    void theQuickstartWorksFromItsFirstCommandToItsLast() throws IOException {
        Path checkout = Distribution.checkout();
        Path example = Path.of("examples", "quickstart", "homeostat.yaml");
        copy(checkout.resolve(example), example);
        copy(SampleProgram.GREETER.archive(), checkout.relativize(SampleProgram.GREETER.archive()));

        homeostat.runProcess("plan", "-f", "examples/quickstart").exits(0).says("2 to install");
        homeostat
                .runProcess("apply", "-f", "examples/quickstart")
                .exits(0)
                .says("plugin/greeter  installed 1")
                .says("process/clock   installed local")
                .says("2 installed");
        // On a busy machine a plugin may be late with one answer.
        eventually().until(() -> homeostat.runProcess("plan").out().contains("2 unchanged"));
        eventually().until(() -> homeostat.runProcess("status").exit() == 0);
        eventually()
                .untilAsserted(() -> assertEquals(
                        "greeting: (masked)",
                        homeostat
                                .status("plugin/greeter")
                                .at("/health/results/0")
                                .asText()));
        assertTrue(homeostat
                        .runProcess("logs", "process/clock")
                        .exits(0)
                        .out()
                        .lines()
                        .count()
                > 0);

        homeostat.kill("process/clock");
        homeostat.runProcess("plan").exits(0).says("! process/clock").says("9 (SIGKILL)");
        homeostat.runProcess("apply", "-f", "examples/quickstart").exits(0).says("process/clock   restarted");

        Path file = homeostat.directory().resolve(example);
        Files.writeString(
                file,
                Files.readString(file)
                        .replace("revision: \"1\"", "revision: \"2\"")
                        .replace("sleep 5", "sleep 10"));
        JsonNode done = homeostat
                .runProcess("apply", "-f", "examples/quickstart", "-o", "json")
                .exits(0)
                .json();
        assertEquals(List.of("upgrade", "restart"), done.at("/workloads").findValuesAsText("action"));

        homeostat.runProcess("delete", "process/clock", "plugin/greeter").exits(0);
        assertEquals(List.of(), homeostat.processes("plugin/greeter"));
    }

    private void copy(Path from, Path to) throws IOException {
        Path target = homeostat.directory().resolve(to);
        Files.createDirectories(target.getParent());
        Files.copy(from, target);
    }
}
