package io.homeostat.reconcile.runtime.kata;

import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

/** A machine with a guest in memory. */
abstract class KataTestBed {
    @TempDir
    Path root;

    KataScene scene;

    @BeforeEach
    void openScene() throws Exception {
        scene = new KataScene(root);
    }

    @AfterEach
    void closeScene() throws Exception {
        scene.close();
    }
}
