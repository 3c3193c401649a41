package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.e2e.Bucket.Stored;
import java.util.List;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** kill -9 of the agent at any moment, in the middle of whatever it does: the next one goes on from what is there. */
@Tag("nightly")
final class KilledAgentTest {
    private static final int KILLS = Boolean.getBoolean("nightly") ? 20 : 4;
    private static final int SEED = 20261121;
    private static final int LONGEST_MILLIS = 1200;

    @RegisterExtension
    final Homeostat homeostat = new Homeostat();

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @Test
    void upgradesAndAppliesThroughAnAgentThatIsKilledAgainAndAgainAreFinishedByTheLast() {
        Random random = new Random(SEED);
        List<Stored> archives = List.of(
                bucket.put("1.tar.gz", TarGz.ofScriptWithNoise("exec sleep 1000", 1)),
                bucket.put("2.tar.gz", TarGz.ofScriptWithNoise("exec sleep 1000", 2)));
        for (int kill = 1; kill <= KILLS; kill++) {
            boolean inItsStart = kill % 4 == 0;
            declare("filed", kill, archives);
            AgentProcess agent = homeostat.startAgentProcess(AgentConfig.of(homeostat.desired()));
            if (!inItsStart) {
                agent.awaitReady();
            }
            Command apply = homeostat.start("apply", "-f", file("applied", kill, archives), "--timeout", "1s");
            // Not a sleep until something is there: the moment is meant to be any.
            LockSupport.parkNanos(random.nextInt(LONGEST_MILLIS) * 1_000_000L);
            if (agent.isRunning()) {
                agent.kill();
            }
            homeostat.checked(apply.kill());
            String when = "after kill " + kill + " of seed " + SEED;
            assertTrue(homeostat.processes("process/filed").size() <= 1, () -> "two at once " + when);
            assertTrue(homeostat.processes("process/applied").size() <= 1, () -> "two at once " + when);
        }
        declare("filed", KILLS + 1, archives);

        homeostat.agent();
        homeostat.apply(homeostat.file("applied.yaml", run("applied", KILLS + 1, archives)));

        homeostat.awaitRunning("process/filed");
        homeostat.awaitRunning("process/applied");
        for (String id : List.of("process/filed", "process/applied")) {
            assertEquals("RUNNING " + (KILLS + 1), homeostat.state(id));
            eventually().until(() -> homeostat.processes(id).size() == 1);
        }
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    private void declare(String name, int revision, List<Stored> archives) {
        homeostat.declare(name + ".yaml", run(name, revision, archives));
    }

    private String file(String name, int revision, List<Stored> archives) {
        return homeostat.file(name + ".yaml", run(name, revision, archives)).toString();
    }

    private Document run(String name, int revision, List<Stored> archives) {
        Stored archive = archives.get(revision % archives.size());
        return Document.process(name)
                .with("revision", Integer.toString(revision))
                .with("source.url", bucket.signedUrl(archive))
                .with("source.sha256", archive.sha256())
                .with("entryPoint", "bin/run");
    }
}
