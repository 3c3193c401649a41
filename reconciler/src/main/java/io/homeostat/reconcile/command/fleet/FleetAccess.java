package io.homeostat.reconcile.command.fleet;

import com.google.common.collect.ImmutableList;
import com.google.common.io.BaseEncoding;
import io.homeostat.desired.etcd.EtcdUsers;
import io.homeostat.desired.etcd.EtcdUsers.Access;
import io.homeostat.desired.etcd.EtcdUsers.Grant;
import io.homeostat.desired.etcd.KeyValuesException;
import io.homeostat.desired.fleet.FleetKeys;
import io.homeostat.reconcile.command.environment.CommandFailure;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.EnumSet;
import java.util.function.Consumer;

/**
 * Users of etcd for a fleet, each of a role with its own name that may do what it has to and no more. What is there already is left as it
 * is.
 *
 * @param directory for their passwords, a file each
 * @param renews whether users that are there get the password of their file, or a new one
 * @param says is told what was done, or was done before
 */
public record FleetAccess(
        EtcdUsers users, FleetKeys keys, Path directory, boolean renews, SecureRandom random, Consumer<String> says) {
    private static final int PASSWORD_BYTES = 24;

    /** Somebody or something that uses etcd, and what it may do there. */
    record Party(String name, ImmutableList<Grant> grants) {}

    /** Those that a fleet has one of, or several that may do the same. */
    static ImmutableList<Party> ofFleet(FleetKeys keys) {
        Grant reads = new Grant(keys.prefix() + "/", true, Access.READ);
        return ImmutableList.of(
                new Party("reader", ImmutableList.of(reads)),
                new Party("publisher", ImmutableList.of(reads, new Grant(keys.set(), false, Access.READ_AND_WRITE))),
                new Party(
                        "operator",
                        ImmutableList.of(
                                reads,
                                new Grant(keys.orders(), true, Access.READ_AND_WRITE),
                                new Grant(keys.machines(), true, Access.WRITE),
                                new Grant(keys.reports(), true, Access.WRITE))),
                new Party(
                        "controller",
                        ImmutableList.of(
                                reads,
                                new Grant(keys.rollouts(), true, Access.READ_AND_WRITE),
                                new Grant(keys.newest(), false, Access.READ_AND_WRITE),
                                new Grant(keys.leader(), true, Access.READ_AND_WRITE))));
    }

    /** A machine, which sees no other one. */
    static Party machine(FleetKeys keys, String id) {
        return new Party(
                "machine-" + id,
                ImmutableList.of(
                        new Grant(keys.set(), true, Access.READ),
                        new Grant(keys.rollouts(), true, Access.READ),
                        new Grant(keys.machine(id), false, Access.READ_AND_WRITE),
                        new Grant(keys.report(id), false, Access.READ_AND_WRITE)));
    }

    /** Has the users of the fleet. */
    public void fleet() throws KeyValuesException, InterruptedException {
        for (Party party : ofFleet(keys)) {
            have(party);
        }
    }

    /** Has the user of a machine. */
    public void machine(String id) throws KeyValuesException, InterruptedException {
        have(machine(keys, id));
    }

    private void have(Party party) throws KeyValuesException, InterruptedException {
        // Two fleets in one etcd have different prefixes.
        String name = keys.prefix().substring(1) + "-" + party.name();
        says.accept("role " + name + (users.define(name, party.grants()) ? " was defined" : " is as it should be"));
        Path file = directory.resolve(party.name() + ".password");
        if (!users.hasUser(name)) {
            users.add(name, password(file));
            says.accept("user " + name + " was made, its password is in " + file);
        } else if (renews) {
            users.change(name, password(file));
            says.accept("user " + name + " has the password in " + file);
        } else {
            says.accept("user " + name + " is there, its password was left as it is");
        }
        if (users.grant(name, name)) {
            says.accept("user " + name + " got its role");
        }
    }

    /** That in the file, else a new one, which is written there first: who has it then can go on after a failure. */
    private String password(Path file) {
        try {
            if (Files.exists(file)) {
                String password = Files.readString(file).stripTrailing();
                if (password.isEmpty()) {
                    throw new CommandFailure(file + " is empty; write a password, or remove the file for a new one");
                }
                return password;
            }
            Files.createDirectories(
                    directory, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            byte[] bytes = new byte[PASSWORD_BYTES];
            random.nextBytes(bytes);
            String password = BaseEncoding.base64Url().encode(bytes);
            try (SeekableByteChannel channel = Files.newByteChannel(
                    file,
                    EnumSet.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
                Channels.newOutputStream(channel).write((password + "\n").getBytes(StandardCharsets.UTF_8));
            }
            return password;
        } catch (IOException e) {
            throw new CommandFailure("could not keep a password in " + file + ": " + e + "; name another directory", e);
        }
    }
}
