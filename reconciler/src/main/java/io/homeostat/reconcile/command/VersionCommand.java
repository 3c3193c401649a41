package io.homeostat.reconcile.command;

import io.homeostat.reconcile.command.output.Console;
import io.homeostat.reconcile.command.output.Json;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import java.util.Properties;

/** Prints the version. */
public final class VersionCommand implements Command {
    private final Console console;

    public VersionCommand(Console console) {
        this.console = console;
    }

    @Override
    public int run() {
        String version = version();
        String java = Runtime.version().toString();
        if (console.json()) {
            Json.print(console.out(), json -> {
                json.writeStartObject();
                json.writeStringField("version", version);
                json.writeStringField("java", java);
                json.writeEndObject();
            });
        } else {
            console.out().println("homeostat " + version + " (Java " + java + ")");
        }
        return ExitStatus.OK;
    }

    /** As the build wrote it down. */
    public static String version() {
        try (InputStream resource = VersionCommand.class.getResourceAsStream("version.properties")) {
            Properties properties = new Properties();
            properties.load(Objects.requireNonNull(resource, "version.properties is missing"));
            return Objects.requireNonNull(properties.getProperty("version"), "version.properties lacks the version");
        } catch (IOException e) {
            throw new UncheckedIOException("version.properties can't be read", e);
        }
    }
}
