package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What runs in a guest is told to end before the sandbox of that is destroyed, which would kill it. */
@Tag("nightly")
final class SandboxPartsTest {
    private static final String APP = "container/app";
    private static final String SANDBOX = "sandbox/guest";

    @RegisterExtension
    @Order(1)
    final Guest guest = new Guest();

    @RegisterExtension
    @Order(2)
    final Homeostat homeostat = new Homeostat();

    private final Document app =
            Document.container("app", "guest", "trap 'echo told to end; exit 0' TERM; while :; do sleep 0.1; done");

    @BeforeEach
    void bootAgain() {
        guest.fake().bootAgain();
    }

    private Document changed() {
        return guest.sandbox().with("hostname", "other");
    }

    private Agent running() {
        homeostat.declare("all.yaml", guest.sandbox(), app);
        Agent agent = homeostat.agent();
        homeostat.awaitRunning(APP);
        return agent;
    }

    private void assertToldToEnd() {
        homeostat.run("logs", APP).says("told to end");
        homeostat.run("events", "--for", APP).says("PLUGIN_STOPPED  sandbox/guest ");
        assertFalse(homeostat.run("events").out().contains("PLUGIN_CRASHED"));
    }

    @Test
    void beforeItIsChangedByTheAgent() {
        Agent _ = running();

        homeostat.declare("all.yaml", changed(), app);
        eventually().until(() -> guest.fake().calls().count("StartContainer") == 2);
        homeostat.awaitRunning(APP);

        assertToldToEnd();
        assertEquals(2, guest.fake().calls().count("CreateSandbox"));
    }

    @Test
    void beforeItIsChangedByApply() {
        homeostat.applied(guest.sandbox(), app);

        String other = homeostat.file("other.yaml", changed(), app).toString();
        JsonNode whole = homeostat.change(SANDBOX, "-f", other);
        assertTrue(whole.path("message").asText().contains(APP), whole::toString);
        JsonNode part = homeostat.change(APP, "-f", other);
        assertEquals("restart", part.path("action").asText(), part::toString);
        assertTrue(part.path("message").asText().contains(SANDBOX), part::toString);
        homeostat.applied(changed(), app);

        assertToldToEnd();
        assertEquals(2, guest.fake().calls().count("StartContainer"));
        homeostat.run("plan", "--detailed-exitcode").exits(0);
    }

    @Test
    void beforeItIsLaunchedAgain() {
        Agent _ = running();

        homeostat.run("restart", SANDBOX).exits(0);
        homeostat.awaitRunning(APP);

        assertToldToEnd();
        assertEquals(2, guest.fake().calls().count("CreateSandbox"));
    }

    @Test
    void beforeItIsStopped() {
        Agent _ = running();

        homeostat.run("stop", SANDBOX).exits(0);

        assertToldToEnd();
        homeostat.run("start", SANDBOX).exits(0);
        homeostat.awaitRunning(APP);
    }

    @Test
    void beforeItIsStoppedOrLaunchedAgainWithoutAnAgent() {
        homeostat.applied(guest.sandbox(), app);

        homeostat.run("restart", SANDBOX).exits(0);
        homeostat.awaitRunning(APP);
        assertToldToEnd();
        assertEquals(2, guest.fake().calls().count("CreateSandbox"));

        homeostat.run("stop", SANDBOX).exits(0);
        assertEquals(2, guest.fake().calls().count("DestroySandbox"));
        homeostat.run("logs", APP).says("told to end\ntold to end");
    }

    @Test
    void beforeItIsRemoved() {
        Agent _ = running();

        homeostat.declare("all.yaml", app);
        eventually().until(() -> guest.fake().calls().count("DestroySandbox") == 1);

        assertToldToEnd();
    }

    @Test
    void butWhatIsLeftAloneIsNotWaitedFor() {
        homeostat.applied(guest.sandbox(), app);
        homeostat.run("pause", APP, "--reason", "a test").exits(0);

        homeostat.apply(changed()).exits(0);

        assertTrue(guest.agent().hasSandbox());
        assertEquals(2, guest.fake().calls().count("CreateSandbox"));
        assertFalse(homeostat.run("logs", APP).out().contains("told to end"));
    }
}
