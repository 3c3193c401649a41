# Runs one command as a task's description says, and outlives the driver.
#
#   perl executor.pl task DIRECTORY        a session of its own; leaves DIRECTORY/pid, or /failed; at the end DIRECTORY/exit
#   perl executor.pl exec DESCRIPTION      becomes the command
#
# The description is a file of strings that end with NUL, the first letter of each says what it is. It is removed once it is read,
# because there may be secrets in it. In Perl because a shell can tell neither a signal from an exit status above 128, nor open a
# file for writing without creating or emptying it.
use strict;
use warnings;
use Fcntl;
use POSIX ();

my ($mode, $place) = @ARGV;
my $description = $mode eq 'task' ? "$place/task" : $place;

my %of = map { $_ => [] } qw(a c d e g o r u);
{
    local $/ = "\0";
    open(my $file, '<', $description) or die "cannot read $description: $!\n";
    while (defined(my $entry = <$file>)) {
        chomp $entry;
        push @{ $of{ substr($entry, 0, 1) } }, substr($entry, 1);
    }
    close($file);
    unlink($description);
}

# The standard descriptors of what is run; a plain file keeps what it has, and is written from its beginning.
sub redirect {
    my ($number, $path, $flags) = @_;
    my $opened = POSIX::open($path, $flags);
    defined $opened or die "cannot open $path: $!\n";
    POSIX::dup2($opened, $number) // die "cannot use $path: $!\n";
    POSIX::close($opened) if $opened > 2;
}

sub become_user {
    my ($user) = @_;
    my (undef, undef, $uid, $gid) = getpwnam($user);
    defined $uid or die "there is no user $user\n";
    my @groups = ($gid);
    while (my @group = getgrent()) {
        push @groups, $group[2] if grep { $_ eq $user } split(/ /, $group[3]);
    }
    $) = "$gid @groups";
    POSIX::setgid($gid) // die "cannot have group $gid: $!\n";
    POSIX::setuid($uid) // die "cannot become $user: $!\n";
}

sub become {
    for my $group (@{ $of{g} }) {
        open(my $procs, '>', $group) or die "cannot open $group: $!\n";
        syswrite($procs, $$) or die "cannot join $group: $!\n";
        close($procs);
    }
    redirect(1, $_, O_WRONLY) for @{ $of{o} };
    redirect(2, $_, O_WRONLY) for @{ $of{r} };
    become_user($_) for @{ $of{u} };
    chdir($_) or die "cannot change to $_: $!\n" for @{ $of{d} };
    $SIG{$_} = 'DEFAULT' for qw(HUP INT QUIT TERM PIPE USR1 USR2 CHLD);
    %ENV = map { split(/=/, $_, 2) } @{ $of{e} };
    my @command = @{ $of{a} };
    exec { $of{c}[0] } @command or die "cannot execute $of{c}[0]: $!\n";
}

# Whoever reads a file finds it whole.
sub leave {
    my ($name, $text) = @_;
    open(my $file, '>', "$place/$name.new") or die "cannot write $place/$name.new: $!\n";
    print $file $text;
    close($file) or die "cannot write $place/$name.new: $!\n";
    rename("$place/$name.new", "$place/$name") or die "cannot rename to $place/$name: $!\n";
}

if ($mode eq 'exec') {
    become();
}

POSIX::setsid();
$SIG{CHLD} = 'DEFAULT';
# The task's own signals are none of the executor's.
$SIG{$_} = 'IGNORE' for qw(HUP INT QUIT TERM USR1 USR2);
redirect(0, '/dev/null', O_RDONLY);

# Whoever reads it is told when the executor is no more. Open in both directions, because that waits for nobody; closed by an exec.
POSIX::mkfifo("$place/alive", 0600) // die "cannot make $place/alive: $!\n";
sysopen(my $alive, "$place/alive", O_RDWR) or die "cannot open $place/alive: $!\n";

# Closed by a successful exec, before which it says what went wrong.
pipe(my $failure, my $tell) or die "no pipe: $!\n";
my $child = fork();
defined $child or die "cannot fork: $!\n";
if ($child == 0) {
    close($failure);
    eval { become(); };
    syswrite($tell, $@);
    POSIX::_exit(126);
}
close($tell);
my $reason = do { local $/; <$failure> };
if (defined $reason && $reason ne '') {
    waitpid($child, 0);
    leave('failed', $reason);
    exit(1);
}
leave('pid', $child);
1 while waitpid($child, 0) != $child;
leave('exit', ($? >> 8) . ' ' . ($? & 127));
