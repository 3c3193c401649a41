package io.homeostat.reconcile.runtime.kata;

import io.homeostat.desired.state.Instance;
import org.junit.jupiter.api.BeforeEach;

/** A machine with a guest in memory, in which a sandbox runs. */
abstract class ContainerTestBed extends KataTestBed {
    MemoryGuest guest;
    Containers containers;
    Instance sandbox;

    @BeforeEach
    void runSandbox() throws Exception {
        guest = scene.guest();
        containers = scene.containers(scene.machine());
        sandbox = scene.runningSandbox();
    }
}
