package io.homeostat.e2e;

import io.homeostat.guest.FakeAgent;
import io.homeostat.guest.FakeGuest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** A guest that has booted when a test begins, and ends after what the test has declared: registered before {@link Homeostat}. */
final class Guest implements BeforeEachCallback, AfterEachCallback {
    private Path root = Path.of("/nonexistent");
    private @Nullable FakeGuest fake;

    @Override
    public void beforeEach(ExtensionContext context) throws IOException {
        // Not JUnit's: sockets need a short path.
        root = Files.createTempDirectory("hs");
        fake = new FakeGuest(socket(), Files.createDirectories(root.resolve("files")));
    }

    @Override
    public void afterEach(ExtensionContext context) throws IOException {
        fake().close();
        Trees.delete(root);
    }

    /** A directory with a short path. */
    Path root() {
        return root;
    }

    /** Where its agent listens. */
    Path socket() {
        return root.resolve("agent.sock");
    }

    FakeGuest fake() {
        return Objects.requireNonNull(fake, "there is one while a test runs");
    }

    FakeAgent agent() {
        return fake().agent();
    }

    /** Declares it. */
    Document sandbox() {
        return Document.sandbox("guest", "unix://" + socket())
                .with("start.timeout", "20s")
                .with("stop.timeout", "5s");
    }
}
