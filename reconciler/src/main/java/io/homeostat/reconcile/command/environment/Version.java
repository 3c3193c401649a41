package io.homeostat.reconcile.command.environment;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import java.util.Properties;

/** Which version of the program this is. */
public final class Version {
    private Version() {}

    public static String current() {
        try (InputStream resource = Version.class.getResourceAsStream("version.properties")) {
            Properties properties = new Properties();
            properties.load(Objects.requireNonNull(resource, "version.properties is missing"));
            return Objects.requireNonNull(properties.getProperty("version"), "version.properties lacks the version");
        } catch (IOException e) {
            throw new UncheckedIOException("version.properties can't be read", e);
        }
    }
}
