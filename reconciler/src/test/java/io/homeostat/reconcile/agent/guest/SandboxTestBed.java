package io.homeostat.reconcile.agent.guest;

import java.io.IOException;
import org.junit.jupiter.api.BeforeEach;

/** A guest with a sandbox that has no containers yet. */
abstract class SandboxTestBed extends GuestTestBed {
    GuestMachine machine;
    GuestService service;

    @BeforeEach
    void makeSandbox() throws IOException, InterruptedException {
        machine = guest.boot();
        service = TestGuest.serve(machine);
    }
}
