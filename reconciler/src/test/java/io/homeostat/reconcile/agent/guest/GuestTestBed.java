package io.homeostat.reconcile.agent.guest;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A guest in memory, which has not been booted. */
abstract class GuestTestBed {
    @TempDir
    Path directory;

    TestGuest guest;

    @BeforeEach
    void openGuest() throws IOException {
        guest = new TestGuest(directory);
    }

    @AfterEach
    void closeGuest() throws IOException {
        guest.close();
    }
}
