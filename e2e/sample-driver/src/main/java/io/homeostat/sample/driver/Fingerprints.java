package io.homeostat.sample.driver;

import io.grpc.stub.StreamObserver;
import io.homeostat.proto.nomad.driver.FingerprintResponse;
import io.homeostat.proto.nomad.driver.FingerprintResponse.HealthState;
import io.homeostat.proto.nomad.structs.Attribute;
import java.util.concurrent.TimeUnit;

/** Whether this driver can work, told at once and whenever it changes. */
final class Fingerprints {
    private static final int FLAP_MILLIS = 1000;

    private final Subscribers<FingerprintResponse> listeners = new Subscribers<>();
    private Faults faults;
    private boolean isEnabled = true;
    private boolean isDown;

    Fingerprints(Faults faults) {
        this.faults = faults;
        if (faults.has("fingerprint-flaps")) {
            int millis = faults.number("fingerprint-flaps", FLAP_MILLIS);
            Background.run("flaps", () -> flap(millis));
        }
    }

    void listen(StreamObserver<FingerprintResponse> stream) {
        FingerprintResponse first;
        synchronized (this) {
            first = current();
            listeners.add(stream, first);
        }
    }

    synchronized void configure(boolean enabled, Faults allFaults) {
        FingerprintResponse before = current();
        isEnabled = enabled;
        faults = allFaults;
        FingerprintResponse now = current();
        if (!now.equals(before)) {
            listeners.tell(now);
        }
    }

    private void flap(int millis) {
        try {
            while (true) {
                TimeUnit.MILLISECONDS.sleep(millis);
                synchronized (this) {
                    isDown = !isDown;
                    listeners.tell(current());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private FingerprintResponse current() {
        if (!isEnabled) {
            return answer(HealthState.UNDETECTED, "disabled");
        }
        if (faults.has("undetected")) {
            return answer(HealthState.UNDETECTED, "told to be undetected");
        }
        if (faults.has("unhealthy") || isDown) {
            return answer(HealthState.UNHEALTHY, "told to be unhealthy");
        }
        return answer(HealthState.HEALTHY, "Healthy").toBuilder()
                .putAttributes(
                        "driver.runner",
                        Attribute.newBuilder().setStringVal("1").build())
                .putAttributes(
                        "driver.runner.version",
                        Attribute.newBuilder().setStringVal(BaseService.VERSION).build())
                .build();
    }

    private static FingerprintResponse answer(HealthState health, String description) {
        return FingerprintResponse.newBuilder()
                .setHealth(health)
                .setHealthDescription(description)
                .build();
    }
}
