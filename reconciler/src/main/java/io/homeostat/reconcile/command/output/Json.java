package io.homeostat.reconcile.command.output;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;

/** Writes one JSON value a line, its fields in the order they are written in. */
public final class Json {
    private static final JsonFactory FACTORY = new JsonFactory();

    private Json() {}

    /** Writes one value. */
    @FunctionalInterface
    public interface Writer {
        void write(JsonGenerator json) throws IOException;
    }

    public static void print(PrintStream out, Writer writer) {
        try {
            JsonGenerator json = FACTORY.createGenerator(out).disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
            writer.write(json);
            json.close();
        } catch (IOException e) {
            throw new UncheckedIOException("the result could not be written", e);
        }
        out.println();
    }
}
