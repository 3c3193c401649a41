package io.homeostat.reconcile.runtime.task;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.google.protobuf.ByteString;
import io.homeostat.desired.model.TaskSpec;
import io.homeostat.observe.driver.DriverFailure;
import io.homeostat.observe.driver.DriverSession;
import io.homeostat.proto.nomad.hclspec.Spec;
import io.homeostat.reconcile.runtime.driver.DriverConfig;
import java.time.Duration;

/**
 * What tasks are configured with, as their drivers want it. Remembered for as long as a declaration and the session with its driver
 * last: every look at a task asks whether its configuration is right.
 */
final class ConvertedConfigs {
    /** By identity: a declaration that is read again is another one. */
    private final Cache<TaskSpec, Converted> known =
            Caffeine.newBuilder().weakKeys().build();

    /** Either the bytes or what is wrong. */
    private sealed interface Converted {
        Spec schema();

        record Fits(Spec schema, ByteString bytes) implements Converted {}

        record Refused(Spec schema, String why) implements Converted {}
    }

    /**
     * A task's configuration in msgpack.
     *
     * @throws DriverFailure when the schema refuses it, with all that is wrong, or can't be had
     */
    ByteString of(TaskSpec spec, DriverSession session, Duration timeout) throws DriverFailure, InterruptedException {
        Spec schema = session.taskSchema(timeout);
        Converted converted = converted(spec, schema);
        return switch (converted) {
            case Converted.Fits fits -> fits.bytes();
            case Converted.Refused refused -> throw new DriverFailure(refused.why());
        };
    }

    /** One at a time: with a large schema this takes megabytes. */
    private synchronized Converted converted(TaskSpec spec, Spec schema) {
        Converted converted = known.getIfPresent(spec);
        if (converted == null || !converted.schema().equals(schema)) {
            converted = convert(spec, schema);
            known.put(spec, converted);
        }
        return converted;
    }

    private static Converted convert(TaskSpec spec, Spec schema) {
        try {
            byte[] bytes = DriverConfig.converted("spec.config", schema, spec.config());
            return new Converted.Fits(schema, ByteString.copyFrom(bytes));
        } catch (DriverFailure e) {
            return new Converted.Refused(schema, e.words());
        }
    }
}
