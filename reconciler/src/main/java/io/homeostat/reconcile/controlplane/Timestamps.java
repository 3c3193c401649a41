package io.homeostat.reconcile.controlplane;

import com.google.protobuf.Timestamp;
import java.time.Instant;

/** Times as the protocol writes them. */
final class Timestamps {
    private Timestamps() {}

    static Timestamp of(Instant at) {
        return Timestamp.newBuilder()
                .setSeconds(at.getEpochSecond())
                .setNanos(at.getNano())
                .build();
    }
}
