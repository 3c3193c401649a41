package io.homeostat.desired.fleet;

/**
 * Where things of a fleet are in a store of keys. Who writes what is in {@code docs/fleet-rollouts.md}; roles of etcd can be made for it because it is
 * a range each.
 *
 * @param prefix that all begin with, without a slash at its end
 */
public record FleetKeys(String prefix) {
    /** The published set; written by publishers. */
    public String set() {
        return prefix + "/set";
    }

    /** The newest sets that controllers have taken; written by the controller. Comes before the set in the order of keys. */
    public String newest() {
        return prefix + "/newest";
    }

    /** How rollouts stand, one key each; written by the controller. */
    public String rollouts() {
        return prefix + "/rollouts/";
    }

    public String rollout(String name) {
        return rollouts() + name;
    }

    /** What operators want of rollouts, one key each. */
    public String orders() {
        return prefix + "/orders/";
    }

    public String order(String rollout) {
        return orders() + rollout;
    }

    /** Every machine that was ever there, one key each; it stays when the machine is gone. Written by each machine for itself. */
    public String machines() {
        return prefix + "/machines/";
    }

    public String machine(String instanceId) {
        return machines() + instanceId;
    }

    /** What machines report, one key each under a lease: it is there for as long as the machine is heard of. */
    public String reports() {
        return prefix + "/reports/";
    }

    public String report(String instanceId) {
        return reports() + instanceId;
    }

    /** The election in which controllers decide who of them leads. */
    public String leader() {
        return prefix + "/leader";
    }

    /** The controllers that lead or wait for it, one key each under a lease, with their names. */
    public String candidates() {
        return leader() + "/";
    }
}
