package io.homeostat.e2e;

import static org.junit.jupiter.api.Assumptions.abort;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;

/**
 * Task drivers that others have written and whoever runs the tests has built: files named as {@link Driver} in the directory that the
 * system property {@code homeostat.nomadDrivers} names, or else HOMEOSTAT_NOMAD_DRIVERS in the environment. Nothing is fetched or built
 * here: Nomad's own drivers are under no open-source licence since 1.7.0.
 */
final class NomadDrivers {
    private static final String PROPERTY = "homeostat.nomadDrivers";
    private static final String VARIABLE = "HOMEOSTAT_NOMAD_DRIVERS";

    private final String directory;

    /**
     * Those of a directory.
     *
     * @param directory empty when none is named, so that none is there
     */
    NomadDrivers(String directory) {
        this.directory = directory;
    }

    /** Those that this run of the tests may use. */
    static NomadDrivers named() {
        return new NomadDrivers(System.getProperty(PROPERTY, Objects.requireNonNullElse(System.getenv(VARIABLE), "")));
    }

    /** The drivers that tests know, by their files' names in small letters. */
    enum Driver {
        /** Nomad's drivers/rawexec. */
        RAW_EXEC("raw_exec"),
        /** Nomad's drivers/mock. */
        MOCK("mock_driver"),
        /** The example of nomad-skeleton-driver-plugin. */
        HELLO("hello-world-example");

        private final String title;

        Driver(String title) {
            this.title = title;
        }

        /** As it calls itself in PluginInfo. */
        String title() {
            return title;
        }

        String file() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * Whether there is such a driver.
     *
     * @param reason why there is none; empty when there is
     */
    record Found(Optional<Path> program, String reason) {
        /** The driver; without one the test is skipped, with the reason. */
        Path orSkip() {
            return program.orElseGet(() -> abort(reason));
        }
    }

    Found find(Driver driver) {
        if (directory.isEmpty()) {
            return none(driver, "neither -D" + PROPERTY + " nor " + VARIABLE + " names a directory of drivers");
        }
        Path program = Path.of(directory).toAbsolutePath().resolve(driver.file());
        if (!Files.isRegularFile(program)) {
            return none(driver, "there is no file " + program);
        }
        if (!Files.isExecutable(program)) {
            return none(driver, program + " is not executable; chmod +x it");
        }
        return new Found(Optional.of(program), "");
    }

    private static Found none(Driver driver, String why) {
        return new Found(Optional.empty(), "no driver " + driver.title() + ": " + why);
    }
}
