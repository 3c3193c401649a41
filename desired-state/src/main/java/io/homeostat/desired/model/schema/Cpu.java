package io.homeostat.desired.model.schema;

/** A share of processor time in percent of one core, written {@code 20%}; 250% is two cores and a half. */
public record Cpu(int percentOfOneCore) {
    public Cpu {
        if (percentOfOneCore <= 0) {
            throw new IllegalArgumentException("not a share of a core: " + percentOfOneCore + "%");
        }
    }
}
